#if Command && !Photos
import Testing

/// A build without the asset library says so.
@Suite struct LibraryPartTests {
    @Test func assetsNameTheTraitThatIsOff() throws {
        let url = "assets-library://asset/asset.JPG?id=D28C0A2C-1E0F-4E8B-9B9C-0F8C5A1E7B11&ext=JPG"
        for command in ["cat", "info", "sum"] {
            expect(try Launch(command, url).run(), failsWith: "notRegistered", 64, saying: "Photos")
        }
    }

    @Test func theCommandsOfTheLibraryNameTheTraitThatIsOff() throws {
        for arguments in [[], ["ls"], ["import", "x", "--library", "y"]] {
            expect(
                try Launch(["library"] + arguments).run(), failsWith: "notRegistered", 64,
                saying: "Photos")
        }
    }
}
#endif

#if Command
import BlobTestSupport
import Foundation
import Testing

/// Starting is fast because little is linked.
@Suite struct LinkingTests {
    @Test(.enabled(if: isLinux)) func theCommandLinksNoLibraryThatIsSlowToLoad() throws {
        let outcome = try Launch(Launch.blob).with { $0.program = "/usr/bin/ldd" }.run()
        // A static executable links none at all, and the tool says so by its status.
        #expect(outcome.text.contains("libc.so") || outcome.ending == .status(1), "\(outcome.errorText)")
        // libarchive would bring libxml2 and ICU along.
        for library in [
            "libFoundationNetworking", "libFoundationXML", "libarchive", "libxml2", "libcurl", "libvips", "libssl",
            "libisal",
        ] {
            #expect(!outcome.text.contains(library))
        }
    }

    #if !Photos
    /// ICU is two thirds of a static executable.
    @Test(.enabled(if: isLinux)) func withoutTheAssetLibraryThereIsNoICU() throws {
        let outcome = try Launch(Launch.blob).with { $0.program = "/usr/bin/ldd" }.run()
        for library in ["libFoundation.so", "libFoundationInternationalization", "lib_FoundationICU"] {
            #expect(!outcome.text.contains(library))
        }
    }
    #endif
}
#endif

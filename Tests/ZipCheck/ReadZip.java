import java.io.BufferedInputStream;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.ZipInputStream;

/** Prints the CRC-32, the length and the name of each entry of a zip on standard input. */
class ReadZip {
    public static void main(String[] arguments) throws Exception {
        ZipInputStream zip = new ZipInputStream(new BufferedInputStream(System.in, 1 << 20));
        byte[] buffer = new byte[1 << 20];
        for (var entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
            CRC32 sum = new CRC32();
            long length = 0;
            for (int count = zip.read(buffer); count > 0; count = zip.read(buffer)) {
                sum.update(buffer, 0, count);
                length += count;
            }
            System.out.println(String.format("%08x %d %s", sum.getValue(), length, entry.getName()));
        }
    }
}

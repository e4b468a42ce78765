// An end in Java for `ipcperf run --follow`: docs/ENDS.md. Build: javac Echo.java; run: java -cp FOLDER Echo
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;

public class Echo {
    static int number(String name) {
        return Integer.parseInt(System.getenv("IPCPERF_" + name));
    }

    public static void main(String[] arguments) throws IOException {
        int size = number("SIZE"), answer = number("ANSWER");
        int burst = number("BURST"), flip = Math.min(number("FLIP"), answer);
        FileInputStream in = new FileInputStream(FileDescriptor.in);
        FileOutputStream out = new FileOutputStream(FileDescriptor.out);
        byte[] message = new byte[size];
        while (true) {
            for (int count = 0; count < burst; count++) {
                for (int done = 0; done < size; ) {
                    int got;
                    try {
                        got = in.read(message, done, size - done);
                    } catch (IOException closed) { // a pseudo-terminal whose other end is closed
                        got = -1;
                    }
                    if (got <= 0) System.exit(done > 0 ? 1 : 0);
                    done += got;
                }
            }
            for (int at = 0; at < flip; at++) message[at] = (byte) ~message[at];
            out.write(message, 0, answer);
        }
    }
}

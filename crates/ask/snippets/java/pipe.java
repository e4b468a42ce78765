// pipe: a message to a child process and back over two anonymous pipes.
// SPDX-License-Identifier: MIT OR Apache-2.0
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

class Example {
    public static void main(String[] words) throws Exception {
        int size = words.length > 0 ? Integer.parseInt(words[0]) : 64;
        if (words.length > 1) {
            // The child. Less: every copy of the write end is closed.
            byte[] message = System.in.readNBytes(size);
            System.out.write(message, 0, message.length);
            System.out.flush();
            System.exit(message.length == size ? 0 : 1);
        }
        Process child = new ProcessBuilder(again(words, size))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        byte[] message = new byte[size];
        Arrays.fill(message, (byte) 'm');
        // No boundaries: both ends know the size. IOException: a dead child.
        child.getOutputStream().write(message);
        child.getOutputStream().flush();
        byte[] reply = child.getInputStream().readNBytes(size);
        if (child.waitFor() != 0 || !Arrays.equals(message, reply)) {
            throw new IllegalStateException("the child failed");
        }
        System.out.printf("pipe: %d bytes sent, echoed and checked%n", size);
    }

    /** The command of this program, with a word more. */
    static List<String> again(String[] words, int size) {
        ProcessHandle.Info own = ProcessHandle.current().info();
        String[] all = own.arguments().orElseThrow();
        List<String> command = new ArrayList<>();
        command.add(own.command().orElseThrow());
        command.addAll(List.of(all).subList(0, all.length - words.length));
        command.addAll(List.of(Integer.toString(size), "child"));
        return command;
    }
}

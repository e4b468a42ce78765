// unix-stream: a message to a server and back over a UNIX socket with a path.
// SPDX-License-Identifier: MIT OR Apache-2.0
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

class Example {
    /** Reads or writes all: a stream has no boundaries. */
    static ByteBuffer move(SocketChannel peer, ByteBuffer all, boolean reads)
            throws IOException {
        while (all.hasRemaining()) {
            if ((reads ? peer.read(all) : peer.write(all)) < 0) {
                throw new EOFException("the other end is gone");
            }
        }
        return all.flip();
    }

    static void client(int size, String address) throws IOException {
        try (SocketChannel server = SocketChannel.open(
                UnixDomainSocketAddress.of(address))) {
            byte[] message = new byte[size];
            Arrays.fill(message, (byte) 'm');
            move(server, ByteBuffer.wrap(message), false);
            ByteBuffer reply = move(server, ByteBuffer.allocate(size), true);
            if (!reply.equals(ByteBuffer.wrap(message))) {
                throw new IOException("the reply differs");
            }
            System.out.printf(
                    "unix-stream: %d bytes sent, echoed and checked%n", size);
        }
    }

    public static void main(String[] words) throws Exception {
        int size = words.length > 0 ? Integer.parseInt(words[0]) : 64;
        if (words.length > 1) {
            client(size, words[1]);
            return;
        }
        // A process needs write permission on the path to connect. The path
        // outlives its listener: bind fails while it is there.
        Path path = Path.of("example.sock");
        try (ServerSocketChannel listener =
                ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            listener.bind(UnixDomainSocketAddress.of(path));
            serve(listener, size, words, path.toString());
        } finally {
            Files.deleteIfExists(path);
        }
    }

    static void serve(ServerSocketChannel listener, int size, String[] words,
            String address) throws Exception {
        ProcessHandle.Info own = ProcessHandle.current().info();
        String[] all = own.arguments().orElseThrow();
        List<String> command = new ArrayList<>();
        command.add(own.command().orElseThrow());
        command.addAll(List.of(all).subList(0, all.length - words.length));
        command.addAll(List.of(Integer.toString(size), address));
        Process child = new ProcessBuilder(command).inheritIO().start();
        try (SocketChannel peer = listener.accept()) {
            move(peer, move(peer, ByteBuffer.allocate(size), true), false);
        }
        if (child.waitFor() != 0) {
            throw new IllegalStateException("the client failed");
        }
    }
}

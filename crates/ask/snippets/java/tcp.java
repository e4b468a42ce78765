// tcp: a message to a server and back over a TCP connection on this host.
// SPDX-License-Identifier: MIT OR Apache-2.0
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
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
        int port = Integer.parseInt(address);
        try (SocketChannel server = SocketChannel.open(
                new InetSocketAddress("127.0.0.1", port))) {
            // A small message does not wait for an acknowledgement.
            server.setOption(StandardSocketOptions.TCP_NODELAY, true);
            byte[] message = new byte[size];
            Arrays.fill(message, (byte) 'm');
            move(server, ByteBuffer.wrap(message), false);
            ByteBuffer reply = move(server, ByteBuffer.allocate(size), true);
            if (!reply.equals(ByteBuffer.wrap(message))) {
                throw new IOException("the reply differs");
            }
            System.out.printf(
                    "tcp: %d bytes sent, echoed and checked%n", size);
        }
    }

    public static void main(String[] words) throws Exception {
        int size = words.length > 0 ? Integer.parseInt(words[0]) : 64;
        if (words.length > 1) {
            client(size, words[1]);
            return;
        }
        // Only this host, but every user of it. Port 0: the kernel chooses one.
        InetAddress own = InetAddress.getByName("127.0.0.1");
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(own, 0));
            int port = listener.socket().getLocalPort();
            serve(listener, size, words, Integer.toString(port));
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
            peer.setOption(StandardSocketOptions.TCP_NODELAY, true);
            move(peer, move(peer, ByteBuffer.allocate(size), true), false);
        }
        if (child.waitFor() != 0) {
            throw new IllegalStateException("the client failed");
        }
    }
}

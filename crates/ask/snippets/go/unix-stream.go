// unix-stream: a message to a server and back over a UNIX socket with a path.
// SPDX-License-Identifier: MIT OR Apache-2.0
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strconv"
)

// A process needs write permission on the path to connect. The path outlives
// its listener if that is killed: Listen fails while it is there.
const address = "example.sock"

func client(size int, address string) {
	server, err := net.Dial("unix", address)
	if err != nil {
		log.Fatal(err)
	}
	message, reply := bytes.Repeat([]byte("m"), size), make([]byte, size)
	if _, err := server.Write(message); err != nil {
		log.Fatal(err) // EPIPE: the server is gone
	}
	if _, err := io.ReadFull(server, reply); err != nil {
		log.Fatal(err)
	}
	if !bytes.Equal(message, reply) {
		log.Fatal("the reply differs")
	}
	fmt.Printf("unix-stream: %d bytes sent, echoed and checked\n", size)
}

func main() {
	log.SetFlags(0)
	size := 64
	if len(os.Args) > 1 {
		var err error
		if size, err = strconv.Atoi(os.Args[1]); err != nil {
			log.Fatal(err)
		}
	}
	if len(os.Args) > 2 {
		client(size, os.Args[2])
		return
	}
	listener, err := net.Listen("unix", address)
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close() // removes the path
	to := listener.Addr().String()
	child := exec.Command("/proc/self/exe", strconv.Itoa(size), to)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		log.Panic(err)
	}
	peer, err := listener.Accept()
	if err != nil {
		log.Panic(err)
	}
	// No boundaries: both ends know the size. io.EOF: a dead client.
	message := make([]byte, size)
	if _, err := io.ReadFull(peer, message); err != nil {
		log.Panic(err)
	}
	if _, err := peer.Write(message); err != nil {
		log.Panic(err)
	}
	if err := child.Wait(); err != nil {
		log.Panic("the client failed")
	}
}

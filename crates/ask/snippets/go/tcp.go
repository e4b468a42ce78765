// tcp: a message to a server and back over a TCP connection on this host.
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

// Only this host, but every user of it. Port 0: the kernel chooses one. Go
// sets TCP_NODELAY, so that a small message waits for no acknowledgement.
const address = "127.0.0.1:0"

func client(size int, address string) {
	server, err := net.Dial("tcp", address)
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
	fmt.Printf("tcp: %d bytes sent, echoed and checked\n", size)
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
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
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

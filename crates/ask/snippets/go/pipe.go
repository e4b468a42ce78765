// pipe: a message to a child process and back over two anonymous pipes.
// SPDX-License-Identifier: MIT OR Apache-2.0
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
)

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
		// The child. io.EOF: every copy of the write end is closed.
		message := make([]byte, size)
		if _, err := io.ReadFull(os.Stdin, message); err != nil {
			log.Fatal(err)
		}
		if _, err := os.Stdout.Write(message); err != nil {
			log.Fatal(err)
		}
		return
	}
	child := exec.Command("/proc/self/exe", strconv.Itoa(size), "child")
	child.Stderr = os.Stderr
	there, err := child.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	back, err := child.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := child.Start(); err != nil {
		log.Fatal(err)
	}
	message, reply := bytes.Repeat([]byte("m"), size), make([]byte, size)
	// No boundaries: both ends know the size. EPIPE: the child is gone.
	if _, err := there.Write(message); err != nil {
		log.Fatal(err)
	}
	if _, err := io.ReadFull(back, reply); err != nil {
		log.Fatal(err)
	}
	if err := child.Wait(); err != nil || !bytes.Equal(message, reply) {
		log.Fatal("the child failed")
	}
	fmt.Printf("pipe: %d bytes sent, echoed and checked\n", size)
}

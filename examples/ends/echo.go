// An end in Go for `ipcperf run --follow`: docs/ENDS.md. Build: go build -o echo-go echo.go
package main

import (
	"os"
	"strconv"
	"syscall"
)

func number(name string) int {
	value, _ := strconv.Atoi(os.Getenv("IPCPERF_" + name))
	return value
}

func main() {
	size, answer, burst, flip := number("SIZE"), number("ANSWER"), number("BURST"), number("FLIP")
	message := make([]byte, size)
	for {
		for count := 0; count < burst; count++ {
			for done := 0; done < size; {
				got, err := syscall.Read(0, message[done:])
				if err == syscall.EINTR {
					continue // the runtime interrupts its threads
				}
				if err != nil || got == 0 {
					os.Exit(min(done, 1))
				}
				done += got
			}
		}
		for at := range message[:min(flip, answer)] {
			message[at] = ^message[at]
		}
		for done := 0; done < answer; {
			put, err := syscall.Write(1, message[done:answer])
			if err != nil && err != syscall.EINTR {
				os.Exit(1)
			}
			done += max(put, 0)
		}
	}
}

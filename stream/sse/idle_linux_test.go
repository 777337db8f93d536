package sse_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// BenchmarkIdleStream measures the memory of an idle stream, in KiB of the whole process. The clients are raw sockets
// that use no memory of the process.
func BenchmarkIdleStream(b *testing.B) {
	const streams = 4000
	for name, fast := range map[string]bool{"fast": true, "net-http": false} {
		b.Run(name, func(b *testing.B) {
			text := newText(1)
			text.AppendText("こんにちは")
			s := sse.NewServer(sse.Config{Fast: fast})
			mux := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Done: func(error) {}})
			})
			listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(b)
			server := &http.Server{Handler: mux}
			go server.Serve(listener)
			defer server.Close()
			defer s.Close()
			for b.Loop() {
				warm := connect(b, listener.Addr(), 100)
				before, rss := inUse(), resident(b)
				clients := connect(b, listener.Addr(), streams)
				b.ReportMetric(float64(inUse()-before)/streams/1024, "KiB/stream")
				b.ReportMetric(float64(resident(b)-rss)/streams/1024, "RSS-KiB/stream")
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(runtime.NumGoroutine())/streams, "goroutines/stream")
				b.ReportMetric(float64(m.StackInuse)/streams/1024, "stack-KiB/stream")
				for _, fd := range append(clients, warm...) {
					if err := syscall.Close(fd); err != nil {
						b.Error(err)
					}
				}
				for open(s) > 0 {
					runtime.Gosched()
				}
			}
		})
	}
}

// connect opens n streams over raw sockets one by one, and waits for the first bytes of each.
func connect(tb testing.TB, address net.Addr, n int) (fds []int) {
	tb.Helper()
	to := &syscall.SockaddrInet4{Port: address.(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	request := []byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
	buf := make([]byte, 4096)
	for range n {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err == nil {
			err = syscall.Connect(fd, to)
		}
		if err == nil {
			_, err = syscall.Write(fd, request)
		}
		must.Succeed(tb, err)
		got := 0
		for !bytes.Contains(buf[:got], []byte("text-delta")) {
			m, err := syscall.Read(fd, buf[got:])
			if m <= 0 || err != nil {
				tb.Fatalf("%q: %v", buf[:got], err)
			}
			got += m
		}
		fds = append(fds, fd)
	}
	return fds
}

// inUse returns the memory that the Go runtime uses: heap, stacks and metadata.
func inUse() int64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse + m.MSpanInuse + m.OtherSys)
}

// resident returns the resident memory of the process.
func resident(tb testing.TB) int64 {
	tb.Helper()
	statm := must.Get(os.ReadFile("/proc/self/statm"))(tb)
	var size, pages int64
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		tb.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

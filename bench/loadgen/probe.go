package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// probe reads the server's use of resources from its metrics, and from /proc if its process id is known.
type probe struct {
	pid     int
	metrics string
	client  http.Client
}

// sample is the server's use of resources at a time. Unknown values are 0.
type sample struct {
	at         time.Time
	memory     float64 // Resident memory in MB.
	cpu        float64 // CPU seconds since the server's start.
	goroutines float64
}

func newProbe(o options, url string) *probe {
	p := &probe{pid: o.pid, metrics: o.metrics, client: http.Client{Timeout: 5 * time.Second}}
	if p.metrics == "" {
		p.metrics = url + "/metrics"
	}
	return p
}

func (p *probe) read(ctx context.Context) sample {
	s := sample{at: time.Now()}
	p.readMetrics(ctx, &s)
	if p.pid > 0 {
		p.readProcess(&s)
	}
	return s
}

func (p *probe) readMetrics(ctx context.Context, s *sample) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, nil)
	if err != nil {
		return
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		switch name {
		case "process_resident_memory_bytes":
			s.memory = value / 1e6
		case "process_cpu_seconds_total":
			s.cpu = value
		case "go_goroutines":
			s.goroutines = value
		}
	}
}

func (p *probe) readProcess(s *sample) {
	// The second field, the name, may contain any character and ends with the last parenthesis. utime, stime and rss
	// are the fields 14, 15 and 24.
	const utime, stime, rss = 14 - 3, 15 - 3, 24 - 3
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= rss {
		return
	}
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(fields[i], 64) // The kernel writes valid numbers.
		return n
	}
	s.cpu = (number(utime) + number(stime)) / 100 // The kernel's ticks are 10 ms on every system.
	s.memory = number(rss) * float64(os.Getpagesize()) / 1e6
}

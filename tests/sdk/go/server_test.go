package sdk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// orrery is a running server and what its ready line said.
type orrery struct {
	Endpoint string `json:"endpoint"`
	Key      string `json:"key"`
	process  *exec.Cmd
}

const readyTimeout = 60 * time.Second

// startServer enforces no throughput unless a flag says so.
func startServer(flags ...string) (*orrery, error) {
	binary := os.Getenv("ORRERY_BIN")
	if binary == "" {
		return nil, errors.New("set ORRERY_BIN to the path of the orrery binary")
	}
	arguments := append([]string{"serve", "--listen", "127.0.0.1:0", "--ready-json"}, flags...)
	process := exec.Command(binary, arguments...)
	process.Stderr = os.Stderr
	// A flag goes before it.
	process.Env = append(os.Environ(), "ORRERY_TLS=off", "ORRERY_THROUGHPUT=off")
	// The kernel ends the server when a killed or panicking test run cannot.
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}

	lines := make(chan []byte, 1)
	go func() {
		scanner := bufio.NewScanner(output)
		for scanner.Scan() {
			select {
			case lines <- append([]byte(nil), scanner.Bytes()...):
			default:
			}
		}
		close(lines)
	}()
	started := &orrery{process: process}
	select {
	case line, open := <-lines:
		if !open {
			return nil, errors.Join(errors.New("the server ended before it was ready"), process.Wait())
		}
		if err := json.Unmarshal(line, started); err != nil {
			started.stop()
			return nil, fmt.Errorf("reading the ready line %q: %w", line, err)
		}
		return started, nil
	case <-time.After(readyTimeout):
		started.stop()
		return nil, errors.New("the server did not become ready")
	}
}

func (o *orrery) stop() {
	_ = o.process.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		_ = o.process.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = o.process.Process.Kill()
	}
}

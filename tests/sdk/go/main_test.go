// Package sdk runs the official Go client, unmodified, against a server that
// this process starts. One memory server serves the whole suite; each test
// makes databases of its own, so tests do not see each other.
package sdk

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

var server *orrery

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// The server lives as long as the thread that started it (see startServer).
	runtime.LockOSThread()
	started, err := startServer("--memory")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer started.stop()
	server = started
	return m.Run()
}

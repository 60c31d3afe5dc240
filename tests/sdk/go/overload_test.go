package sdk

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestALoadRunsAtTheRateOfItsContainer(t *testing.T) {
	load(t, 400, 400, 300)
}

// A container with 18,000 RU a second has three physical partitions, and keeps them.
func TestALoadOverThreePhysicalPartitionsRunsAtTheirRate(t *testing.T) {
	load(t, 18000, 1200, 1200)
}

// load creates items from several goroutines, because this SDK has no bulk calls. The SDK asks three times in
// all, so a refusal must say how long the budget is used up.
func load(t *testing.T, first, rate int32, count int) {
	// The server lives as long as the thread that started it (see startServer).
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	enforcing, err := startServer("--memory", "--throughput", "on")
	must(t, err)
	t.Cleanup(enforcing.stop)
	credential, err := azcosmos.NewKeyCredential(enforcing.Key)
	must(t, err)
	client, err := azcosmos.NewClientWithKey(enforcing.Endpoint, credential, nil)
	must(t, err)
	t.Cleanup(client.Close)
	database := newDatabaseWith(t, client, nil)
	definition := azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	properties := azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: definition}
	container := createContainer(t, database, properties, to.Ptr(azcosmos.NewManualThroughputProperties(first)))
	_, err = container.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(rate), nil)
	must(t, err)

	text := strings.Repeat("x", 1000)
	numbers := make(chan int)
	var lock sync.Mutex
	var writers sync.WaitGroup
	sum := 0.0
	begun := time.Now()
	for range 8 * rate / 400 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for n := range numbers {
				key := fmt.Sprintf("k%d", n%(count/4))
				item := doc{"id": fmt.Sprint(n), "pk": key, "text": text}
				response, err := container.CreateItem(t.Context(), pk(key), encode(t, item), nil)
				if err != nil {
					t.Errorf("item %d: %v", n, err)
					continue
				}
				lock.Lock()
				sum += float64(response.RequestCharge)
				lock.Unlock()
			}
		}()
	}
	for n := range count {
		numbers <- n
	}
	close(numbers)
	writers.Wait()
	seconds := time.Since(begun).Seconds()
	t.Logf("%.1f s for %.0f RU at %d RU/s", seconds, sum, rate)
	// The first second began with the container and may be nearly over. A machine with much to do needs longer.
	ideal := sum / float64(rate)
	if seconds < ideal-2.5 || seconds > 3*ideal+5 {
		t.Errorf("%v s for %v RU", seconds, sum)
	}
}

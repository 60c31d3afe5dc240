package sdk

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// register makes a script: `kind` is the segment of its path. This client has no calls for scripts,
// so the request is written by hand; what uses the script is the client's own.
func register(t *testing.T, database *azcosmos.DatabaseClient, kind string, script doc) {
	t.Helper()
	link := fmt.Sprintf("dbs/%s/colls/c", database.ID())
	date := time.Now().UTC().Format(http.TimeFormat)
	request, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, strings.TrimSuffix(server.Endpoint, "/")+"/"+link+"/"+kind,
		bytes.NewReader(encode(t, script)))
	must(t, err)
	request.Header.Set("x-ms-date", date)
	request.Header.Set("x-ms-version", "2020-07-15")
	request.Header.Set("authorization", signature(t, kind, link, date))
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("%s %v: %s %s", kind, script, response.Status, text)
	}
}

func signature(t *testing.T, kind, link, date string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(server.Key)
	must(t, err)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "post\n%s\n%s\n%s\n\n", kind, link, strings.ToLower(date))
	sum := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return url.QueryEscape("type=master&ver=1.0&sig=" + sum)
}

func trigger(id, timing, operation, body string) doc {
	return doc{"id": id, "triggerType": timing, "triggerOperation": operation, "body": body}
}

package sdk

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const certificateLifetimeMax = 825 * 24 * time.Hour

// TestTLSWithTheCertificateOfTheServer trusts the certificate that the server makes for itself, which is no authority.
func TestTLSWithTheCertificateOfTheServer(t *testing.T) {
	// The server lives as long as the thread that started it (see startServer).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	data := t.TempDir()
	secure, err := startServer("--tls", "auto", "--data", data)
	must(t, err)
	defer secure.stop()
	text, err := os.ReadFile(filepath.Join(data, "certificate.pem"))
	must(t, err)
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	lifetime := certificate.NotAfter.Sub(certificate.NotBefore)
	if certificate.IsCA || lifetime > certificateLifetimeMax {
		t.Fatalf("an authority: %v; valid for %v", certificate.IsCA, lifetime)
	}

	trusted := x509.NewCertPool()
	trusted.AddCert(certificate)
	for _, one := range []struct {
		roots    *x509.CertPool
		accepted bool
	}{{trusted, true}, {x509.NewCertPool(), false}} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: one.roots}}}
		err := createDatabase(t, secure, client)
		if (err == nil) != one.accepted {
			t.Fatalf("accepted should be %v: %v", one.accepted, err)
		}
	}
}

func createDatabase(t *testing.T, secure *orrery, transport policy.Transporter) error {
	t.Helper()
	credential, err := azcosmos.NewKeyCredential(secure.Key)
	must(t, err)
	options := azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: transport, Retry: policy.RetryOptions{MaxRetries: -1}}}
	client, err := azcosmos.NewClientWithKey(secure.Endpoint, credential, &options)
	must(t, err)
	t.Cleanup(client.Close)
	_, err = client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: uniqueID("db")}, nil)
	return err
}

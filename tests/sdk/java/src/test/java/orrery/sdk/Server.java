package orrery.sdk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;

/**
 * A memory server with a self-signed certificate, one for the whole run. The certificate becomes the
 * trust store of this process, so the client checks it exactly as it would check a public one.
 */
final class Server {
    private static final Server SHARED = start();

    final String endpoint;
    final String key;

    private Server(String endpoint, String key) {
        this.endpoint = endpoint;
        this.key = key;
    }

    static Server shared() {
        return SHARED;
    }

    private static Server start() {
        String binary = System.getenv("ORRERY_BIN");
        if (binary == null) {
            throw new IllegalStateException("set ORRERY_BIN to the path of the orrery binary");
        }
        try {
            Process process = new ProcessBuilder(
                            binary, "serve", "--listen", "127.0.0.1:0", "--tls", "auto", "--memory",
                            "--throughput", "off", "--ready-json")
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
            JsonNode ready = new ObjectMapper().readTree(firstLine(process));
            trust(Path.of(ready.get("certificate").asText()));
            return new Server(ready.get("endpoint").asText(), ready.get("key").asText());
        } catch (IOException e) {
            throw new UncheckedIOException("starting " + binary, e);
        }
    }

    /** Blocks until the server is ready or gone; the build's own time limit covers one that hangs. */
    private static String firstLine(Process process) throws IOException {
        String line = process.inputReader().readLine();
        if (line == null) {
            throw new IllegalStateException("the server ended before it was ready");
        }
        return line;
    }

    private static void trust(Path certificate) throws IOException {
        String password = "public";
        Path store = Files.createTempFile("orrery", ".p12");
        store.toFile().deleteOnExit();
        try (InputStream pem = Files.newInputStream(certificate);
                OutputStream out = Files.newOutputStream(store)) {
            KeyStore keys = KeyStore.getInstance("PKCS12");
            keys.load(null, null);
            keys.setCertificateEntry("orrery", CertificateFactory.getInstance("X.509").generateCertificate(pem));
            keys.store(out, password.toCharArray());
        } catch (GeneralSecurityException e) {
            throw new IOException("trusting " + certificate, e);
        }
        System.setProperty("javax.net.ssl.trustStore", store.toString());
        System.setProperty("javax.net.ssl.trustStorePassword", password);
        System.setProperty("javax.net.ssl.trustStoreType", "PKCS12");
    }
}

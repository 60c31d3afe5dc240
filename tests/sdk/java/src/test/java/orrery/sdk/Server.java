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
import java.util.ArrayList;
import java.util.List;

/**
 * Servers in memory with a self-signed certificate; most tests share one. The certificate becomes the
 * trust store of this process, so the client checks it exactly as it would check a public one.
 */
final class Server {
    private static final String CERTIFICATE = makeCertificate();
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
        JsonNode ready = ready(launch(List.of()));
        return new Server(ready.get("endpoint").asText(), ready.get("key").asText());
    }

    /** A server in memory with these flags, which ends with this process at the latest. It enforces no throughput unless a flag says so. */
    static Process launch(List<String> flags) {
        List<String> all = new ArrayList<>(List.of("--memory", "--tls", CERTIFICATE));
        if (!flags.contains("--throughput")) {
            all.addAll(List.of("--throughput", "off"));
        }
        all.addAll(flags);
        return run(all);
    }

    /** A server in memory that speaks plain HTTP. */
    static Process launchPlain() {
        return run(List.of("--memory", "--throughput", "off", "--tls", "off"));
    }

    /** What the server says of itself when it can be used. */
    static JsonNode ready(Process process) {
        try {
            return new ObjectMapper().readTree(firstLine(process));
        } catch (IOException e) {
            throw new UncheckedIOException("waiting for the server", e);
        }
    }

    /** One for all servers of the run: this process can be told only once what to trust. */
    private static String makeCertificate() {
        try {
            Path directory = Files.createTempDirectory("orrery");
            Process process = run(List.of("--data", directory.toString(), "--tls", "auto"));
            Path certificate = Path.of(ready(process).get("certificate").asText());
            process.destroy();
            process.waitFor();
            trust(certificate);
            return certificate + "," + certificate.resolveSibling("certificate-key.pem");
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException("making a certificate", e);
        }
    }

    private static Process run(List<String> flags) {
        String binary = System.getenv("ORRERY_BIN");
        if (binary == null) {
            throw new IllegalStateException("set ORRERY_BIN to the path of the orrery binary");
        }
        List<String> command =
                new ArrayList<>(List.of(binary, "serve", "--listen", "127.0.0.1:0", "--ready-json"));
        command.addAll(flags);
        try {
            Process process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
            return process;
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

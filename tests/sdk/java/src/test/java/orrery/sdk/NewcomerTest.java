package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * What a first program needs, as README.md says it. The SDK reads the properties when it is loaded, so each
 * program is a process of its own; none of them has the trust store of this one.
 */
class NewcomerTest {
    private static final String PLAIN_HTTP = "-DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true";
    private static final String ANY_CERTIFICATE = "-DCOSMOS.EMULATOR_SERVER_CERTIFICATE_VALIDATION_DISABLED=true";

    @Test
    void plainHttpNeedsAProperty() throws Exception {
        Process server = Server.launchPlain();
        JsonNode ready = Server.ready(server);
        assertNotEquals(0, runProgram(ready, List.of()));
        assertEquals(0, runProgram(ready, List.of(PLAIN_HTTP)));
        server.destroy();
    }

    @Test
    void aCertificateOfTheServersOwnNeedsAnother() throws Exception {
        Process server = Server.launch(List.of());
        JsonNode ready = Server.ready(server);
        assertNotEquals(0, runProgram(ready, List.of()));
        assertEquals(0, runProgram(ready, List.of(ANY_CERTIFICATE)));
        server.destroy();
    }

    private static int runProgram(JsonNode ready, List<String> properties) throws Exception {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = new ArrayList<>(List.of(java.toString(), "-XX:TieredStopAtLevel=1"));
        command.addAll(properties);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Program.class.getName()));
        command.addAll(List.of(ready.get("endpoint").asText(), ready.get("key").asText()));
        return new ProcessBuilder(command).inheritIO().start().waitFor();
    }

    /** The first lines that the explorer shows. */
    static final class Program {
        public static void main(String[] arguments) {
            int status = 0;
            try (CosmosClient client = new CosmosClientBuilder()
                    .endpoint(arguments[0])
                    .key(arguments[1])
                    .gatewayMode()
                    .buildClient()) {
                client.createDatabaseIfNotExists("shop");
            } catch (RuntimeException e) {
                System.err.println(e.getClass());
                status = 1;
            }
            System.exit(status);
        }
    }
}

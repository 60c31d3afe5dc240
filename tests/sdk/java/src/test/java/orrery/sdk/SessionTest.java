package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class SessionTest extends Fixture {
    @Test
    void tokens() {
        CosmosContainer container = newContainer();
        String token = container.createItem(item("1", "a")).getSessionToken();
        assertTrue(token.matches("\\d+:(-1#\\d+|\\d+#\\d+(#\\d+=\\d+)*)"), token);
        CosmosItemRequestOptions options = new CosmosItemRequestOptions().setSessionToken(token);
        assertEquals(
                200, container.readItem("1", pk("a"), options, ObjectNode.class).getStatusCode());
        CosmosException missing = fails(404, () -> read(container, "absent", "a"));
        assertNotNull(missing.getResponseHeaders().get("x-ms-session-token"));
    }
}

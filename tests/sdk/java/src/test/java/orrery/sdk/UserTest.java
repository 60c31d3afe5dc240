package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncUser;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.ContainerChildResourceType;
import com.azure.cosmos.models.CosmosPermissionProperties;
import com.azure.cosmos.models.CosmosPermissionRequestOptions;
import com.azure.cosmos.models.CosmosUserProperties;
import com.azure.cosmos.models.PermissionMode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;

class UserTest extends Fixture {
    private static final CosmosPermissionRequestOptions DEFAULT = new CosmosPermissionRequestOptions();

    @Test
    void users() {
        CosmosDatabase database = newDatabase();
        assertEquals(
                201,
                database.createUser(new CosmosUserProperties().setId("u")).getStatusCode());
        fails(409, () -> database.createUser(new CosmosUserProperties().setId("u")));
        assertEquals("u", database.getUser("u").read().getProperties().getId());
        database.upsertUser(new CosmosUserProperties().setId("v"));
        assertEquals(
                List.of("u", "v"),
                database.readAllUsers().stream()
                        .map(CosmosUserProperties::getId)
                        .sorted()
                        .toList());
        assertEquals(
                List.of("v"),
                database.queryUsers("SELECT * FROM c WHERE c.id = 'v'").stream()
                        .map(CosmosUserProperties::getId)
                        .toList());
        // The client replaces by the resource's own link, so it needs the one that it read.
        CosmosUserProperties read = database.getUser("v").read().getProperties();
        database.getUser("v").replace(read.setId("w"));
        assertEquals("w", database.getUser("w").read().getProperties().getId());
        assertEquals(204, database.getUser("u").delete().getStatusCode());
        fails(404, () -> database.getUser("u").read());
    }

    @Test
    void permissions() {
        CosmosDatabase database = newDatabase();
        createIn(database, properties("c"), null);
        database.createUser(new CosmosUserProperties().setId("u"));
        try (CosmosAsyncClient client = clientBuilder().buildAsyncClient()) {
            CosmosAsyncUser user = client.getDatabase(database.getId()).getUser("u");
            assertEquals(
                    201,
                    user.createPermission(permission("p", "c", PermissionMode.READ), DEFAULT)
                            .block()
                            .getStatusCode());
            fails(409, () -> user.createPermission(permission("p", "c", PermissionMode.ALL), DEFAULT)
                    .block());
            CosmosPermissionProperties read =
                    user.getPermission("p").read(DEFAULT).block().getProperties();
            assertEquals(PermissionMode.READ, read.getPermissionMode());
            assertEquals("c", read.getContainerName());
            assertTrue(read.getToken().startsWith("type=resource&ver=1"), read::getToken);
            String again =
                    user.getPermission("p").read(DEFAULT).block().getProperties().getToken();
            assertNotEquals(read.getToken(), again);

            assertEquals(1, user.readAllPermissions().count().block());
            read.setPermissionMode(PermissionMode.ALL);
            CosmosPermissionProperties replaced =
                    user.getPermission("p").replace(read, DEFAULT).block().getProperties();
            assertEquals(PermissionMode.ALL, replaced.getPermissionMode());
            assertEquals(204, user.getPermission("p").delete(DEFAULT).block().getStatusCode());
        }
    }

    @Test
    void resourceTokens() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), null);
        createIn(database, properties("other"), null);
        create(container, item("1", "a"));
        database.createUser(new CosmosUserProperties().setId("u"));

        try (CosmosClient reader = tokenClient(database, permission("read", "c", PermissionMode.READ))) {
            CosmosContainer seen = reader.getDatabase(database.getId()).getContainer("c");
            assertEquals("1", read(seen, "1", "a").get("id").asText());
            assertEquals(
                    1, seen.queryItems("SELECT * FROM c", in("a"), ObjectNode.class).stream().count());
            fails(403, () -> seen.createItem(item("2", "a"), pk("a"), null));
            fails(403, () -> reader.getDatabase(database.getId()).getContainer("other").read());
            fails(403, () -> reader.createDatabase(uniqueId("db")));
        }
        try (CosmosClient writer = tokenClient(database, permission("all", "other", PermissionMode.ALL))) {
            CosmosContainer seen = writer.getDatabase(database.getId()).getContainer("other");
            seen.createItem(item("2", "a"), pk("a"), null);
            fails(403, () -> writer.getDatabase(database.getId()).getContainer("c").read());
        }
    }

    /** The client asks for the definition and the ranges of the container before it reads the item. */
    @Test
    void aTokenForOneItem() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), null);
        createIn(database, properties("other"), null);
        create(container, item("1", "a"));
        create(container, item("2", "a"));
        database.createUser(new CosmosUserProperties().setId("u"));
        CosmosPermissionProperties one = permission("one", "c", PermissionMode.READ)
                .setResourcePath(ContainerChildResourceType.ITEM, "1")
                .setResourcePartitionKey(pk("a"));
        try (CosmosClient reader = tokenClient(database, one)) {
            CosmosContainer seen = reader.getDatabase(database.getId()).getContainer("c");
            assertEquals("1", read(seen, "1", "a").get("id").asText());
            assertEquals("/pk", seen.read().getProperties().getPartitionKeyDefinition().getPaths().get(0));
            fails(403, () -> read(seen, "2", "a"));
            fails(403, () -> queryIds(seen, "SELECT * FROM c", in("a")));
            fails(403, () -> seen.upsertItem(item("1", "a"), pk("a"), null));
            fails(403, () -> reader.getDatabase(database.getId()).getContainer("other").read());
        }
    }

    private static CosmosClient tokenClient(CosmosDatabase database, CosmosPermissionProperties permission) {
        try (CosmosAsyncClient client = clientBuilder().buildAsyncClient()) {
            String token = client.getDatabase(database.getId())
                    .getUser("u")
                    .createPermission(permission, DEFAULT)
                    .block()
                    .getProperties()
                    .getToken();
            return Mode.of(new CosmosClientBuilder()
                    .endpoint(Server.shared().endpoint)
                    .resourceToken(token))
                    .buildClient();
        }
    }

    private static CosmosPermissionProperties permission(String id, String container, PermissionMode mode) {
        return new CosmosPermissionProperties()
                .setId(id)
                .setContainerName(container)
                .setPermissionMode(mode);
    }
}

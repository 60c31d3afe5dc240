package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosContainerRequestOptions;
import com.azure.cosmos.models.CosmosContainerResponse;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingMode;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import java.util.List;
import org.junit.jupiter.api.Test;

class ContainerTest extends Fixture {
    @Test
    void lifeCycle() {
        CosmosDatabase database = newDatabase();
        CosmosContainerResponse created = database.createContainer("c", "/pk");
        assertEquals(201, created.getStatusCode());
        CosmosContainer container = database.getContainer("c");
        assertEquals(
                created.getProperties().getResourceId(),
                container.read().getProperties().getResourceId());
        fails(409, () -> database.createContainer("c", "/pk"));
        assertEquals(200, database.createContainerIfNotExists("c", "/pk").getStatusCode());

        assertEquals(204, container.delete().getStatusCode());
        fails(404, container::read);
        fails(404, container::delete);
    }

    @Test
    void isMissing() {
        CosmosDatabase database = newDatabase();
        fails(404, () -> read(database.getContainer("absent"), "1", "a"));
        fails(404, () -> CLIENT.getDatabase("absent").getContainer("c").read());
    }

    @Test
    void sameNameNewContainer() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), null);
        create(container, item("1", "a"));
        String first = container.read().getProperties().getResourceId();
        container.delete();

        createIn(database, properties("c"), null);
        assertNotEquals(first, container.read().getProperties().getResourceId());
        fails(404, () -> read(container, "1", "a"));
        create(container, item("1", "a"));
    }

    @Test
    void replace() {
        CosmosContainer container = newContainer();
        CosmosContainerProperties properties = container.read().getProperties();
        String etag = properties.getETag();
        properties.setDefaultTimeToLiveInSeconds(-1);
        properties.setIndexingPolicy(new IndexingPolicy()
                .setIndexingMode(IndexingMode.CONSISTENT)
                .setIncludedPaths(List.of(new IncludedPath("/a/?")))
                .setExcludedPaths(List.of(new ExcludedPath("/*"))));
        CosmosContainerProperties replaced = container.replace(properties).getProperties();
        assertEquals(-1, replaced.getDefaultTimeToLiveInSeconds());
        assertNotEquals(etag, replaced.getETag());
        assertEquals("/a/?", replaced.getIndexingPolicy().getIncludedPaths().get(0).getPath());

        replaced.setDefaultTimeToLiveInSeconds(null);
        assertNull(container.replace(replaced).getProperties().getDefaultTimeToLiveInSeconds());
    }

    @Test
    void replacePreconditions() {
        CosmosContainer container = newContainer();
        CosmosContainerProperties properties = container.read().getProperties();
        CosmosContainerRequestOptions stale = new CosmosContainerRequestOptions().setIfMatchETag("\"other\"");
        fails(412, () -> container.replace(properties, stale));
        container.replace(properties, new CosmosContainerRequestOptions().setIfMatchETag(properties.getETag()));
    }

    @Test
    void partitionKeyIsImmutable() {
        CosmosContainer container = newContainer();
        CosmosContainerProperties properties = container.read().getProperties();
        properties.setPartitionKeyDefinition(key("/other"));
        fails(400, () -> container.replace(properties));
    }

    @Test
    void listAndQuery() {
        CosmosDatabase database = newDatabase();
        for (String id : List.of("a", "b", "c")) {
            createIn(database, properties(id), null);
        }
        assertEquals(
                List.of("a", "b", "c"),
                database.readAllContainers().stream()
                        .map(CosmosContainerProperties::getId)
                        .sorted()
                        .toList());
        SqlQuerySpec query =
                new SqlQuerySpec("SELECT * FROM c WHERE c.id = @id", List.of(new SqlParameter("@id", "b")));
        assertEquals(
                List.of("b"),
                database.queryContainers(query).stream()
                        .map(CosmosContainerProperties::getId)
                        .toList());
    }

    @Test
    void quotaInformation() {
        CosmosContainerRequestOptions options = new CosmosContainerRequestOptions().setQuotaInfoEnabled(true);
        CosmosContainerResponse response = newContainer().read(options);
        assertFalse(response.getMaxResourceQuota().isEmpty());
        assertFalse(response.getCurrentResourceQuotaUsage().isEmpty());
        assertEquals(
                "100",
                response.getResponseHeaders().get("x-ms-documentdb-collection-index-transformation-progress"));
    }
}

package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosDatabaseProperties;
import com.azure.cosmos.models.CosmosDatabaseRequestOptions;
import com.azure.cosmos.models.CosmosDatabaseResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DatabaseTest extends Fixture {
    @Test
    void lifeCycle() {
        String id = uniqueId("db");
        CosmosDatabaseResponse created = CLIENT.createDatabase(id);
        assertEquals(201, created.getStatusCode());
        CosmosDatabaseProperties properties = created.getProperties();
        assertEquals(id, properties.getId());
        assertEquals(properties.getETag(), created.getResponseHeaders().get("etag"));
        assertTrue(properties.getTimestamp().getEpochSecond() > 1_000_000_000);

        CosmosDatabase database = CLIENT.getDatabase(id);
        assertEquals(properties.getResourceId(), database.read().getProperties().getResourceId());
        assertEquals(200, CLIENT.createDatabaseIfNotExists(id).getStatusCode());
        fails(409, () -> CLIENT.createDatabase(id));

        assertEquals(204, database.delete().getStatusCode());
        fails(404, database::read);
        fails(404, database::delete);
        CosmosDatabaseResponse again = CLIENT.createDatabaseIfNotExists(id);
        assertEquals(201, again.getStatusCode());
        assertNotEquals(properties.getResourceId(), again.getProperties().getResourceId());
        database.delete();
    }

    @Test
    void preconditions() {
        CosmosDatabase database = newDatabase();
        String etag = database.read().getProperties().getETag();
        fails(412, () -> database.delete(new CosmosDatabaseRequestOptions().setIfMatchETag("\"other\"")));
        database.delete(new CosmosDatabaseRequestOptions().setIfMatchETag(etag));
    }

    @Test
    void list() {
        String first = newDatabase().getId();
        String second = newDatabase().getId();
        List<String> all = CLIENT.readAllDatabases().stream()
                .map(CosmosDatabaseProperties::getId)
                .toList();
        assertTrue(all.containsAll(List.of(first, second)), all::toString);
    }

    @Test
    void query() {
        newDatabase();
        String wanted = newDatabase().getId();
        SqlQuerySpec query =
                new SqlQuerySpec("SELECT * FROM c WHERE c.id = @id", List.of(new SqlParameter("@id", wanted)));
        List<String> found = CLIENT.queryDatabases(query, new CosmosQueryRequestOptions()).stream()
                .map(CosmosDatabaseProperties::getId)
                .toList();
        assertEquals(List.of(wanted), found);
    }

    @Test
    void pagesOfAQueryEndWithoutAnEmptyOne() {
        List<String> ids = List.of(newDatabase().getId(), newDatabase().getId());
        SqlQuerySpec query = new SqlQuerySpec(
                "SELECT * FROM c WHERE c.id = @a OR c.id = @b",
                List.of(new SqlParameter("@a", ids.get(0)), new SqlParameter("@b", ids.get(1))));
        List<Integer> sizes = new ArrayList<>();
        for (FeedResponse<CosmosDatabaseProperties> page :
                CLIENT.queryDatabases(query, new CosmosQueryRequestOptions()).iterableByPage(1)) {
            sizes.add(page.getResults().size());
        }
        assertEquals(List.of(1, 1), sizes);
    }

    @Test
    void oddIds() {
        for (String id : List.of("with space", "a+b", "a%20b", "čeština", "colls", "dbs")) {
            String unique = uniqueId(id);
            CLIENT.createDatabase(unique);
            CosmosDatabase database = CLIENT.getDatabase(unique);
            assertEquals(unique, database.read().getProperties().getId());
            database.delete();
        }
    }
}

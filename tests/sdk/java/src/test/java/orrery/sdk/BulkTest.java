package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBulkItemRequestOptions;
import com.azure.cosmos.models.CosmosBulkOperationResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BulkTest extends Fixture {
    @Test
    void everyKindOfOperationStandsAlone() {
        CosmosContainer container = newContainer();
        for (String id : List.of("read", "replace", "patch", "delete")) {
            create(container, item(id, "a"));
        }
        Map<CosmosItemOperation, Integer> wanted = new HashMap<>();
        wanted.put(CosmosBulkOperations.getCreateItemOperation(item("create", "b"), pk("b")), 201);
        wanted.put(CosmosBulkOperations.getCreateItemOperation(item("read", "a"), pk("a")), 409);
        wanted.put(CosmosBulkOperations.getUpsertItemOperation(item("upsert", "c"), pk("c")), 201);
        wanted.put(CosmosBulkOperations.getReadItemOperation("read", pk("a")), 200);
        wanted.put(CosmosBulkOperations.getReadItemOperation("absent", pk("a")), 404);
        wanted.put(CosmosBulkOperations.getReplaceItemOperation("replace", item("replace", "a"), pk("a")), 200);
        wanted.put(
                CosmosBulkOperations.getPatchItemOperation(
                        "patch", pk("a"), CosmosPatchOperations.create().set("/n", 1)),
                200);
        wanted.put(CosmosBulkOperations.getDeleteItemOperation("delete", pk("a")), 204);

        Map<CosmosItemOperation, Integer> got = new HashMap<>();
        for (CosmosBulkOperationResponse<Object> response : container.executeBulkOperations(wanted.keySet())) {
            assertNull(response.getException());
            assertTrue(response.getResponse().getRequestCharge() > 0);
            got.put(response.getOperation(), response.getResponse().getStatusCode());
        }
        assertEquals(wanted, got);
        assertEquals(1, read(container, "patch", "a").get("n").asInt());
        assertEquals("create patch read replace upsert", queryIds(container, "SELECT * FROM c", everywhere()));
    }

    @Test
    void whatDidNotHappenHasNoItem() {
        CosmosContainer container = newContainer();
        String etag = create(container, item("old", "a")).get("_etag").asText();
        CosmosBulkItemRequestOptions unchanged = new CosmosBulkItemRequestOptions().setIfMatchETag(etag);
        Map<CosmosItemOperation, Integer> wanted = new HashMap<>();
        wanted.put(CosmosBulkOperations.getCreateItemOperation(item("old", "a"), pk("a")), 409);
        wanted.put(CosmosBulkOperations.getReadItemOperation("old", pk("a"), unchanged), 304);
        for (CosmosBulkOperationResponse<Object> response : container.executeBulkOperations(wanted.keySet())) {
            assertEquals(
                    wanted.get(response.getOperation()), response.getResponse().getStatusCode());
            assertNull(response.getResponse().getItem(ObjectNode.class));
        }
    }

    @Test
    void overThreePhysicalPartitions() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(18000));
        int count = 300;
        List<CosmosItemOperation> operations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String key = "p" + i % 40;
            operations.add(CosmosBulkOperations.getCreateItemOperation(item("" + i, key), pk(key)));
        }
        int created = 0;
        for (CosmosBulkOperationResponse<Object> response : container.executeBulkOperations(operations)) {
            created += response.getResponse().getStatusCode() == 201 ? 1 : 0;
        }
        assertEquals(count, created);
        long found = container.queryItems("SELECT * FROM c", everywhere(), ObjectNode.class).stream()
                .count();
        assertEquals(count, found);
    }
}

package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchItemRequestOptions;
import com.azure.cosmos.models.CosmosBatchOperationResult;
import com.azure.cosmos.models.CosmosBatchPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class BatchTest extends Fixture {
    @Test
    void commits() {
        CosmosContainer container = newContainer();
        for (String id : List.of("read", "replace", "delete", "patch")) {
            create(container, item(id, "a").put("n", 0));
        }
        CosmosBatch batch = batch();
        batch.createItemOperation(item("create", "a"));
        batch.upsertItemOperation(item("upsert", "a"));
        batch.readItemOperation("read");
        batch.replaceItemOperation("replace", item("replace", "a").put("n", 1));
        batch.patchItemOperation("patch", CosmosPatchOperations.create().increment("/n", 5));
        batch.deleteItemOperation("delete");
        CosmosBatchResponse response = container.executeCosmosBatch(batch);

        assertTrue(response.isSuccessStatusCode(), response::getErrorMessage);
        assertEquals(200, response.getStatusCode());
        assertEquals(List.of(201, 201, 200, 200, 200, 204), statuses(response));
        CosmosBatchOperationResult patched = response.getResults().get(4);
        assertEquals(5, patched.getItem(ObjectNode.class).get("n").asInt());
        assertEquals(patched.getETag(), patched.getItem(ObjectNode.class).get("_etag").asText());
        assertTrue(response.getResults().stream().allMatch(result -> result.getRequestCharge() > 0));
        assertTrue(response.getRequestCharge() > 0);
        assertNotNull(response.getSessionToken());
        assertEquals("create patch read replace upsert", queryIds(container, "SELECT * FROM c", in("a")));
    }

    @Test
    void rollsBack() {
        CosmosContainer container = newContainer();
        create(container, item("taken", "a"));
        CosmosBatchItemRequestOptions stale = new CosmosBatchItemRequestOptions().setIfMatchETag("\"stale\"");
        CosmosBatchPatchItemRequestOptions untrue =
                new CosmosBatchPatchItemRequestOptions().setFilterPredicate("from c where c.n = 7");
        Map<Consumer<CosmosBatch>, Integer> cases = new LinkedHashMap<>();
        cases.put(batch -> batch.createItemOperation(item("taken", "a")), 409);
        cases.put(batch -> batch.deleteItemOperation("absent"), 404);
        cases.put(batch -> batch.readItemOperation("absent"), 404);
        cases.put(batch -> batch.deleteItemOperation("taken", stale), 412);
        cases.put(
                batch -> batch.patchItemOperation("taken", CosmosPatchOperations.create().set("/n", 1), untrue), 412);

        cases.forEach((failing, status) -> {
            CosmosBatch batch = batch();
            batch.createItemOperation(item("first", "a"));
            failing.accept(batch);
            batch.createItemOperation(item("last", "a"));
            CosmosBatchResponse response = container.executeCosmosBatch(batch);
            assertFalse(response.isSuccessStatusCode());
            // The client promotes the status of the operation that failed.
            assertEquals(status, response.getStatusCode());
            assertEquals(List.of(424, status, 424), statuses(response));
            // Frameworks take a body for an item.
            assertNull(response.getResults().get(1).getItem(ObjectNode.class));
            assertSumOfCharges(response);
            assertEquals("taken", queryIds(container, "SELECT * FROM c", in("a")));
        });
    }

    @Test
    void seesItsOwnWrites() {
        CosmosContainer container = newContainer();
        CosmosBatch batch = batch();
        batch.createItemOperation(item("1", "a").put("n", 1));
        batch.replaceItemOperation("1", item("1", "a").put("n", 2));
        batch.readItemOperation("1");
        CosmosBatchResponse response = container.executeCosmosBatch(batch);
        assertEquals(List.of(201, 200, 200), statuses(response));
        assertEquals(2, response.getResults().get(2).getItem(ObjectNode.class).get("n").asInt());
        assertSumOfCharges(response);
    }

    @Test
    void aReadOfNothingNewUndoesNothing() {
        CosmosContainer container = newContainer();
        String etag = create(container, item("old", "a")).get("_etag").asText();
        CosmosBatch batch = batch();
        batch.createItemOperation(item("new", "a"));
        batch.readItemOperation("old", new CosmosBatchItemRequestOptions().setIfMatchETag(etag));
        CosmosBatchResponse response = container.executeCosmosBatch(batch);
        assertEquals(207, response.getStatusCode());
        assertEquals(List.of(201, 304), statuses(response));
        assertSumOfCharges(response);
        assertEquals("new old", queryIds(container, "SELECT * FROM c", in("a")));
    }

    private static void assertSumOfCharges(CosmosBatchResponse response) {
        double sum = response.getResults().stream()
                .mapToDouble(CosmosBatchOperationResult::getRequestCharge)
                .sum();
        assertTrue(sum > 0);
        assertEquals(sum, response.getRequestCharge(), 0.01);
    }

    @Test
    void limits() {
        CosmosContainer container = newContainer();
        assertEquals(200, container.executeCosmosBatch(upserts(100, 10)).getStatusCode());
        fails(400, () -> container.executeCosmosBatch(upserts(101, 10)));
        fails(413, () -> container.executeCosmosBatch(upserts(3, 900 << 10)));
    }

    private static CosmosBatch upserts(int count, int bytes) {
        CosmosBatch batch = batch();
        for (int i = 0; i < count; i++) {
            batch.upsertItemOperation(item("" + i, "a").put("s", "x".repeat(bytes)));
        }
        return batch;
    }

    private static CosmosBatch batch() {
        return CosmosBatch.createCosmosBatch(pk("a"));
    }

    private static List<Integer> statuses(CosmosBatchResponse response) {
        return response.getResults().stream()
                .map(CosmosBatchOperationResult::getStatusCode)
                .toList();
    }
}

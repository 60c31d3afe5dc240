package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class PreconditionTest extends Fixture {
    @Test
    void ifMatch() {
        CosmosContainer container = newContainer();
        String stale = etag(create(container, item("1", "a")));
        String current = etag(container.replaceItem(item("1", "a"), "1", pk("a"), null).getItem());

        fails(412, () -> container.replaceItem(item("1", "a"), "1", pk("a"), match(stale)));
        fails(412, () -> container.upsertItem(item("1", "a"), match(stale)));
        fails(412, () -> container.deleteItem("1", pk("a"), match(stale)));
        CosmosPatchItemRequestOptions patchOptions = new CosmosPatchItemRequestOptions();
        patchOptions.setIfMatchETag(stale);
        CosmosPatchOperations patch = CosmosPatchOperations.create().set("/n", 1);
        fails(412, () -> container.patchItem("1", pk("a"), patch, patchOptions, ObjectNode.class));

        String next = etag(container.replaceItem(item("1", "a"), "1", pk("a"), match(current)).getItem());
        next = etag(container.upsertItem(item("1", "a"), match(next)).getItem());
        patchOptions.setIfMatchETag(next);
        next = etag(container.patchItem("1", pk("a"), patch, patchOptions, ObjectNode.class).getItem());
        assertEquals(204, container.deleteItem("1", pk("a"), match(next)).getStatusCode());
    }

    @Test
    void ifMatchAny() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a"));
        container.replaceItem(item("1", "a"), "1", pk("a"), match("*"));
    }

    @Test
    void ifMatchOnUpsertOfANewItemIsIgnored() {
        CosmosContainer container = newContainer();
        assertEquals(201, container.upsertItem(item("1", "a"), match("\"any\"")).getStatusCode());
    }

    @Test
    void readIfNoneMatch() {
        CosmosContainer container = newContainer();
        String etag = etag(create(container, item("1", "a")));
        assertEquals(304, readStatus(() -> readWith(container, noneMatch(etag))));
        assertEquals(304, readStatus(() -> readWith(container, noneMatch("*"))));
        assertEquals(200, readStatus(() -> readWith(container, noneMatch("\"other\""))));
    }

    /** In direct mode the condition of a write is sent as If-Match: the protocol has one word for both. */
    @Test
    void writeIfNoneMatch() {
        assumeFalse(Mode.IS_DIRECT);
        CosmosContainer container = newContainer();
        String etag = etag(create(container, item("1", "a")));
        fails(412, () -> container.upsertItem(item("1", "a"), noneMatch("*")));
        fails(412, () -> container.replaceItem(item("1", "a"), "1", pk("a"), noneMatch(etag)));
        assertEquals(201, container.upsertItem(item("2", "a"), noneMatch("*")).getStatusCode());
    }

    private static com.azure.cosmos.models.CosmosItemResponse<ObjectNode> readWith(
            CosmosContainer container, CosmosItemRequestOptions options) {
        return container.readItem("1", pk("a"), options, ObjectNode.class);
    }

    private static String etag(ObjectNode item) {
        return item.get("_etag").asText();
    }

    private static CosmosItemRequestOptions match(String etag) {
        return new CosmosItemRequestOptions().setIfMatchETag(etag);
    }

    private static CosmosItemRequestOptions noneMatch(String etag) {
        return new CosmosItemRequestOptions().setIfNoneMatchETag(etag);
    }
}

package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class ContentResponseTest extends Fixture {
    @Test
    void writesAnswerWithoutContentWhenAsked() {
        CosmosContainer container = newContainer();
        CosmosItemRequestOptions minimal = new CosmosItemRequestOptions().setContentResponseOnWriteEnabled(false);
        CosmosPatchItemRequestOptions minimalPatch = new CosmosPatchItemRequestOptions();
        minimalPatch.setContentResponseOnWriteEnabled(false);
        CosmosPatchOperations patch = CosmosPatchOperations.create().set("/n", 1);

        minimal(201, container.createItem(item("1", "a"), minimal));
        minimal(200, container.upsertItem(item("1", "a"), minimal));
        minimal(200, container.replaceItem(item("1", "a"), "1", pk("a"), minimal));
        minimal(200, container.patchItem("1", pk("a"), patch, minimalPatch, ObjectNode.class));
        assertEquals(1, read(container, "1", "a").get("n").asInt());
    }

    private static void minimal(int status, CosmosItemResponse<?> response) {
        assertEquals(status, response.getStatusCode());
        assertNull(response.getItem());
        assertNotNull(response.getETag());
        assertNotNull(response.getSessionToken());
        assertTrue(response.getRequestCharge() > 0);
    }
}

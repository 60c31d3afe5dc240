package orrery.sdk;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;

class UniqueKeyTest extends Fixture {
    @Test
    void everyWriteIsChecked() {
        UniqueKeyPolicy policy = new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/a", "/b"))));
        CosmosContainer container = newContainer(properties("c").setUniqueKeyPolicy(policy));
        create(container, values("1", "x", 1, 1));
        create(container, values("2", "x", 1, 2));
        create(container, values("1", "y", 1, 1));

        fails(409, () -> create(container, values("3", "x", 1, 1)));
        fails(409, () -> container.replaceItem(values("2", "x", 1, 1), "2", pk("x"), null));
        fails(409, () -> container.upsertItem(values("2", "x", 1, 1)));
        CosmosPatchOperations patch = CosmosPatchOperations.create().set("/b", 1);
        fails(409, () -> container.patchItem("2", pk("x"), patch, ObjectNode.class));

        create(container, item("4", "x"));
        fails(409, () -> create(container, item("5", "x")));

        container.deleteItem("1", pk("x"), null);
        container.replaceItem(values("2", "x", 1, 1), "2", pk("x"), null);
    }

    private static ObjectNode values(String id, String pk, int a, int b) {
        return item(id, pk).put("a", a).put("b", b);
    }
}

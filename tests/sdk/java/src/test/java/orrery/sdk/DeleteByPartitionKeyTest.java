package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import org.junit.jupiter.api.Test;

class DeleteByPartitionKeyTest extends Fixture {
    @Test
    void deletesOneLogicalPartition() {
        CosmosContainer container = newContainer();
        fill(container, 2, 5);
        int status = container
                .deleteAllItemsByPartitionKey(pk("p0"), new CosmosItemRequestOptions())
                .getStatusCode();
        assertEquals(200, status);
        assertEquals("1-0 1-1 1-2 1-3 1-4", queryIds(container, "SELECT * FROM c", everywhere()));
        fails(404, () -> read(container, "0-0", "p0"));
        create(container, item("0-0", "p0"));
        assertEquals("0-0", queryIds(container, "SELECT * FROM c", in("p0")));
    }
}

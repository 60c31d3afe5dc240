package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import org.junit.jupiter.api.Test;

class TtlTest extends Fixture {
    @Test
    void itemsExpire() throws InterruptedException {
        CosmosContainer container = newContainer(properties("c").setDefaultTimeToLiveInSeconds(-1));
        create(container, item("gone", "a").put("ttl", 1));
        create(container, item("stays", "a"));
        expires(container, "gone");
        assertEquals("stays", queryIds(container, "SELECT * FROM c", in("a")));
        create(container, item("gone", "a"));
    }

    @Test
    void containerDefault() throws InterruptedException {
        CosmosContainer container = newContainer(properties("c").setDefaultTimeToLiveInSeconds(1));
        create(container, item("gone", "a"));
        create(container, item("stays", "a").put("ttl", -1));
        expires(container, "gone");
        read(container, "stays", "a");
    }

    @Test
    void values() {
        CosmosContainer container = newContainer(properties("c").setDefaultTimeToLiveInSeconds(-1));
        fails(400, () -> create(container, item("1", "a").put("ttl", 0)));
        fails(400, () -> create(container, item("1", "a").put("ttl", -10)));
        fails(400, () -> create(container, item("1", "a").put("ttl", "5")));
        fails(400, () -> create(container, item("1", "a").putNull("ttl")));
    }

    /** Polls, because the server's clock counts whole seconds. */
    private static void expires(CosmosContainer container, String id) throws InterruptedException {
        for (int i = 0; i < 30; i++) {
            try {
                read(container, id, "a");
            } catch (CosmosException e) {
                assertEquals(404, e.getStatusCode());
                return;
            }
            Thread.sleep(100);
        }
        assertTrue(false, id + " did not expire");
    }
}

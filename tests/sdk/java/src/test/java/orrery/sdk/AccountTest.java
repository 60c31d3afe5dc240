package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.azure.cosmos.CosmosBridgeInternal;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.implementation.DatabaseAccount;
import org.junit.jupiter.api.Test;

class AccountTest extends Fixture {
    private static final String OTHER_KEY = "bm90IHRoZSBrZXkgb2YgdGhpcyBzZXJ2ZXIhIQ==";

    @Test
    void clientIsBuiltFromTheAccount() {
        try (CosmosClient client = clientBuilder().buildClient()) {
            client.readAllDatabases().stream().count();
        }
    }

    /** The client reads both numbers of the answer to `GET /`, and fails without them. In direct mode this call fails in the client. */
    @Test
    void mediaStorage() {
        assumeFalse(Mode.IS_DIRECT);
        DatabaseAccount account =
                CosmosBridgeInternal.getAsyncDocumentClient(CLIENT).getDatabaseAccount().block();
        assertEquals("orrery", account.getId());
    }

    @Test
    void wrongKeyIsUnauthorized() {
        RuntimeException failure =
                assertThrows(RuntimeException.class, () -> clientBuilder().key(OTHER_KEY).buildClient().close());
        Throwable cause = failure;
        while (cause != null && !(cause instanceof CosmosException)) {
            cause = cause.getCause();
        }
        assertTrue(cause instanceof CosmosException e && e.getStatusCode() == 401, failure::toString);
    }
}

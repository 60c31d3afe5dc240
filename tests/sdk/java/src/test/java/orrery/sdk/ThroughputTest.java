package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.ThroughputResponse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class ThroughputTest extends Fixture {
    @Test
    void manual() {
        CosmosContainer container = newContainer(properties("c"), manual(500));
        ThroughputResponse read = container.readThroughput();
        assertEquals(500, read.getProperties().getManualThroughput());
        assertEquals(400, read.getMinThroughput());
        assertFalse(read.isReplacePending());
        assertEquals(700, container.replaceThroughput(manual(700)).getProperties().getManualThroughput());
        assertEquals(700, container.readThroughput().getProperties().getManualThroughput());
    }

    @Test
    void defaultsTo400() {
        assertEquals(400, newContainer().readThroughput().getProperties().getManualThroughput());
    }

    @Test
    void outOfRange() {
        CosmosContainer container = newContainer();
        fails(400, () -> container.replaceThroughput(manual(100)));
        fails(400, () -> container.replaceThroughput(manual(450)));
        fails(400, () -> newContainer(properties("c"), manual(100)));
    }

    @Test
    void autoscale() {
        CosmosContainer container = newContainer(properties("c"), autoscale(5000));
        assertEquals(5000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
        assertEquals(
                8000, container.replaceThroughput(autoscale(8000)).getProperties().getAutoscaleMaxThroughput());
        assertEquals(8000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
    }

    @Test
    void shared() {
        CosmosDatabase database = newDatabase(manual(600));
        assertEquals(600, database.readThroughput().getProperties().getManualThroughput());
        assertEquals(900, database.replaceThroughput(manual(900)).getProperties().getManualThroughput());

        CosmosContainer sharing = createIn(database, properties("sharing"), null);
        noOffer(sharing::readThroughput);
        CosmosContainer own = createIn(database, properties("own"), manual(400));
        assertEquals(400, own.readThroughput().getProperties().getManualThroughput());
    }

    @Test
    void sharedAutoscale() {
        CosmosDatabase database = newDatabase(autoscale(4000));
        assertEquals(4000, database.readThroughput().getProperties().getAutoscaleMaxThroughput());
    }

    @Test
    void databaseWithoutThroughput() {
        noOffer(newDatabase()::readThroughput);
    }

    /** The client finds no offer and makes up an answer of its own. */
    private static void noOffer(Executable read) {
        CosmosException failure = fails(400, read);
        assertTrue(failure.getMessage().contains("No offers found"), failure::getShortMessage);
    }

    static ThroughputProperties manual(int value) {
        return ThroughputProperties.createManualThroughput(value);
    }

    static ThroughputProperties autoscale(int value) {
        return ThroughputProperties.createAutoscaledThroughput(value);
    }
}

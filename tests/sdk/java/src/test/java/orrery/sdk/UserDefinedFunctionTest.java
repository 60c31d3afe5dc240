package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.CosmosUserDefinedFunction;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

class UserDefinedFunctionTest extends Fixture {
    @Test
    void life() {
        CosmosScripts scripts = newContainer().getScripts();
        CosmosUserDefinedFunctionProperties made = function("f", "(n) => n");
        assertEquals(201, scripts.createUserDefinedFunction(made).getStatusCode());
        fails(409, () -> scripts.createUserDefinedFunction(made));
        CosmosUserDefinedFunction one = scripts.getUserDefinedFunction("f");
        CosmosUserDefinedFunctionProperties read = one.read().getProperties();
        assertEquals("(n) => n", read.getBody());
        assertEquals("(n) => -n", one.replace(read.setBody("(n) => -n")).getProperties().getBody());
        scripts.createUserDefinedFunction(function("g", "(n) => n"));
        assertEquals(2, scripts.readAllUserDefinedFunctions().stream().count());
        String byId = "SELECT * FROM c WHERE c.id = 'g'";
        assertEquals(
                1,
                scripts.queryUserDefinedFunctions(byId, new CosmosQueryRequestOptions()).stream()
                        .count());
        assertEquals(204, one.delete().getStatusCode());
        fails(404, one::read);
    }

    @Test
    void callsInQueries() {
        CosmosContainer container =
                newContainer(properties("c"), ThroughputProperties.createManualThroughput(18000));
        fill(container, 5, 4);
        container.getScripts().createUserDefinedFunction(function("odd", "(n) => n % 2 === 1"));
        String query = "SELECT * FROM c WHERE udf.odd(c.n) AND c.n > 1";
        assertEquals("0-3 1-3 2-3 3-3 4-3", queryIds(container, query, everywhere()));
        assertEquals("2-3", queryIds(container, query, in("p2")));
        assertEquals("0-3 1-3 2-3 3-3 4-3", queryIds(container, query + " ORDER BY c.id", everywhere()));
        String sum = "SELECT VALUE COUNT(1) FROM c WHERE udf.odd(c.n)";
        JsonNode count = container.queryItems(sum, everywhere(), JsonNode.class).iterator().next();
        assertEquals(10, count.asInt());
    }

    @Test
    void failures() {
        CosmosContainer container = newContainer();
        fill(container, 1, 2);
        CosmosScripts scripts = container.getScripts();
        scripts.createUserDefinedFunction(function("fail", "(n) => { throw new Error('no ' + n); }"));
        scripts.createUserDefinedFunction(function("broken", "function ("));
        CosmosException thrown = ask(container, "SELECT VALUE udf.fail(c.n) FROM c WHERE c.n = 1");
        assertTrue(thrown.getMessage().contains("no 1"), thrown::getMessage);
        ask(container, "SELECT VALUE udf.broken(c.n) FROM c");
        ask(container, "SELECT VALUE udf.missing(c.n) FROM c");
    }

    private static CosmosException ask(CosmosContainer container, String query) {
        return fails(400, () -> container.queryItems(query, in("p0"), JsonNode.class).stream().toList());
    }

    private static CosmosUserDefinedFunctionProperties function(String id, String body) {
        return new CosmosUserDefinedFunctionProperties(id, body);
    }
}

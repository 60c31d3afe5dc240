package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.CosmosStoredProcedure;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureResponse;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScriptTest extends Fixture {
    private static final String MARK =
            "() => { const request = getContext().getRequest(); const item = request.getBody();"
                    + " item.marked = true; request.setBody(item); }";

    @Test
    void storedProcedures() {
        CosmosScripts scripts = newContainer().getScripts();
        assertEquals(201, scripts.createStoredProcedure(procedure("s", "() => {}")).getStatusCode());
        fails(409, () -> scripts.createStoredProcedure(procedure("s", "() => {}")));
        CosmosStoredProcedure one = scripts.getStoredProcedure("s");
        CosmosStoredProcedureProperties read = one.read().getProperties();
        assertEquals("() => {}", read.getBody());
        assertEquals("() => 1", one.replace(read.setBody("() => 1")).getProperties().getBody());
        scripts.createStoredProcedure(procedure("t", "() => {}"));
        assertEquals(2, scripts.readAllStoredProcedures().stream().count());
        assertEquals(
                List.of("t"),
                scripts.queryStoredProcedures(
                                "SELECT * FROM c WHERE c.id = 't'", new CosmosQueryRequestOptions())
                        .stream()
                        .map(CosmosStoredProcedureProperties::getId)
                        .toList());
        assertEquals(204, one.delete().getStatusCode());
        fails(404, one::read);
    }

    @Test
    void runs() {
        CosmosContainer container = newContainer();
        CosmosStoredProcedureResponse told =
                run(container, "(x) => { console.log('x is %s', x); __.response.setBody({ x }); }", List.of(7));
        assertEquals(json("{\"x\":7}"), json(told.getResponseAsString()));
        assertEquals("x is 7", told.getScriptLog());
        assertTrue(told.getRequestCharge() > 0);
        CosmosStoredProcedureResponse text = run(container, "(x) => __.response.setBody('a' + x)", List.of("so"));
        assertEquals("\"aso\"", text.getResponseAsString());
        String create = "(fail) => { __.createDocument(__.getSelfLink(), { id: '1', pk: 'a' });"
                + " if (fail) throw new Error(417, 'undo'); }";
        CosmosException failure = fails(400, () -> run(container, create, List.of(true)));
        assertEquals(417, failure.getSubStatusCode());
        assertTrue(failure.getMessage().contains("undo"), failure::getMessage);
        fails(404, () -> read(container, "1", "a"));
        run(container, create, List.of(false));
        assertEquals("1", read(container, "1", "a").get("id").asText());
        assertEquals(65535, fails(400, () -> run(container, "function (", List.of())).getSubStatusCode());
    }

    @Test
    void triggers() {
        CosmosContainer container = newContainer();
        CosmosTriggerProperties mark = new CosmosTriggerProperties("mark", MARK)
                .setTriggerType(TriggerType.PRE)
                .setTriggerOperation(TriggerOperation.ALL);
        CosmosTriggerProperties made =
                container.getScripts().createTrigger(mark).getProperties();
        assertEquals(TriggerType.PRE, made.getTriggerType());
        assertEquals(TriggerOperation.ALL, made.getTriggerOperation());
        CosmosTriggerProperties refuse = new CosmosTriggerProperties("refuse", "() => { throw new Error('no'); }")
                .setTriggerType(TriggerType.POST)
                .setTriggerOperation(TriggerOperation.CREATE);
        container.getScripts().createTrigger(refuse);

        CosmosItemRequestOptions marked = new CosmosItemRequestOptions().setPreTriggerInclude(List.of("mark"));
        ObjectNode item = container.createItem(item("1", "a"), pk("a"), marked).getItem();
        assertTrue(item.get("marked").asBoolean());
        assertTrue(container.upsertItem(item("1", "a"), pk("a"), marked).getItem().has("marked"));
        CosmosItemRequestOptions refused = new CosmosItemRequestOptions().setPostTriggerInclude(List.of("refuse"));
        fails(400, () -> container.createItem(item("2", "a"), pk("a"), refused));
        fails(404, () -> read(container, "2", "a"));
        fails(400, () -> container.upsertItem(item("2", "a"), pk("a"), refused));
    }

    @Test
    void functions() {
        CosmosContainer container =
                newContainer(properties("c"), ThroughputProperties.createManualThroughput(18000));
        fill(container, 5, 4);
        container
                .getScripts()
                .createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("odd", "(n) => n % 2 === 1"));
        String query = "SELECT * FROM c WHERE udf.odd(c.n) AND c.n > 1";
        assertEquals("0-3 1-3 2-3 3-3 4-3", queryIds(container, query, everywhere()));
        assertEquals("2-3", queryIds(container, query, in("p2")));
        String sum = "SELECT VALUE COUNT(1) FROM c WHERE udf.odd(c.n)";
        JsonNode count = container.queryItems(sum, everywhere(), JsonNode.class).iterator().next();
        assertEquals(10, count.asInt());
    }

    private static CosmosStoredProcedureResponse run(CosmosContainer container, String body, List<Object> arguments) {
        String id = uniqueId("s");
        container.getScripts().createStoredProcedure(procedure(id, body));
        CosmosStoredProcedureRequestOptions options = new CosmosStoredProcedureRequestOptions()
                .setPartitionKey(pk("a"))
                .setScriptLoggingEnabled(true);
        return container.getScripts().getStoredProcedure(id).execute(arguments, options);
    }

    private static CosmosStoredProcedureProperties procedure(String id, String body) {
        return new CosmosStoredProcedureProperties(id, body);
    }
}

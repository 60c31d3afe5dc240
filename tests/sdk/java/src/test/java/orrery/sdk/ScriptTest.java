package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.CosmosStoredProcedure;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureResponse;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScriptTest extends Fixture {
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
    void statementsMayFollowTheFunction() {
        String body = "(function (x) { __.response.setBody(twice(x)); });\n"
                + "function twice(x) { return 2 * x; }\nvar unused = 1;";
        CosmosStoredProcedureResponse told = run(newContainer(), body, List.of(21));
        assertEquals("42", told.getResponseAsString());
    }

    @Test
    void failures() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a").put("n", 1));
        String link = "__.getAltLink() + '/docs/1'";
        for (var expected : List.of(
                new Object[] {404, "() => __.readDocument(__.getAltLink() + '/docs/none')"},
                new Object[] {409, "() => __.createDocument(__.getSelfLink(), { id: '1', pk: 'a' })"},
                new Object[] {400, "() => __.createDocument(__.getSelfLink(), { id: '2', pk: 'b' })"},
                new Object[] {412, "() => __.deleteDocument(" + link + ", { etag: 'x' })"})) {
            CosmosException failure = fails(400, () -> run(container, (String) expected[1], List.of()));
            assertEquals(expected[0], failure.getSubStatusCode(), failure::getMessage);
        }
        CosmosException aborted = fails(400, () -> run(container, "() => getContext().abort('enough')", List.of()));
        assertTrue(aborted.getMessage().contains("enough"), aborted::getMessage);
        fails(404, () -> container.getScripts().getStoredProcedure("none").execute(List.of(), inA()));
        assertEquals(1, read(container, "1", "a").get("n").asInt());
    }

    @Test
    void transactions() {
        CosmosContainer container = newContainer();
        create(container, item("count", "a").put("n", 0));
        String add = "(id) => __.readDocument(__.getAltLink() + '/docs/count', (error, count) => {"
                + " if (error) throw error; count.n += 1;"
                + " __.replaceDocument(count._self, count);"
                + " __.createDocument(__.getSelfLink(), { id, pk: 'a' }); })";
        container.getScripts().createStoredProcedure(procedure("add", add));
        CosmosStoredProcedure script = container.getScripts().getStoredProcedure("add");
        script.execute(List.of("1"), inA());
        fails(400, () -> script.execute(List.of("1"), inA()));
        script.execute(List.of("2"), inA());
        assertEquals(2, read(container, "count", "a").get("n").asInt());
        assertEquals("1 2 count", queryIds(container, "SELECT * FROM c", in("a")));
    }

    @Test
    void queriesAndPages() {
        CosmosContainer container = newContainer();
        fill(container, 1, 5);
        String pages = "() => { const found = []; (function page(continuation) {"
                + " __.queryDocuments(__.getSelfLink(), 'SELECT VALUE c.n FROM c WHERE c.n > 0',"
                + " { pageSize: 2, continuation }, (error, rows, options) => {"
                + " if (error) throw error; found.push(rows.length);"
                + " if (options.continuation) page(options.continuation);"
                + " else __.response.setBody(found); }); })(); }";
        container.getScripts().createStoredProcedure(procedure("pages", pages));
        CosmosStoredProcedureResponse told = container
                .getScripts()
                .getStoredProcedure("pages")
                .execute(List.of(), new CosmosStoredProcedureRequestOptions().setPartitionKey(pk("p0")));
        assertEquals(json("[2,2]"), json(told.getResponseAsString()));
    }

    private static CosmosStoredProcedureResponse run(CosmosContainer container, String body, List<Object> arguments) {
        String id = uniqueId("s");
        container.getScripts().createStoredProcedure(procedure(id, body));
        return container.getScripts().getStoredProcedure(id).execute(arguments, inA());
    }

    private static CosmosStoredProcedureRequestOptions inA() {
        return new CosmosStoredProcedureRequestOptions().setPartitionKey(pk("a")).setScriptLoggingEnabled(true);
    }

    private static CosmosStoredProcedureProperties procedure(String id, String body) {
        return new CosmosStoredProcedureProperties(id, body);
    }
}

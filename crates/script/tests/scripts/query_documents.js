// {"documents": [{"id": "1", "a": 1}, {"id": "2", "a": 2}, {"id": "3", "a": 1}]}
function () {
    var collection = getContext().getCollection();
    var response = getContext().getResponse();
    var link = collection.getSelfLink();
    var seen = [];
    function note(err, docs, options) {
        seen.push(err ? [err.number, err.message] : [docs.map(function (d) { return d.id; }), options]);
        response.setBody(seen);
    }
    collection.queryDocuments(link, 'SELECT * FROM c', note);
    collection.queryDocuments(link, 'SELECT * FROM c', { pageSize: 2 }, note);
    collection.queryDocuments(link, 'SELECT * FROM c', { pageSize: -1, enableScan: true }, note);
    collection.queryDocuments(link, {
        query: 'SELECT * FROM c WHERE c.a = @a', parameters: [{ name: '@a', value: 1 }],
    }, {}, note);
    collection.queryDocuments(link, 'SELEC * FROM c', note);
    collection.queryDocuments(link, { query: 'SELECT * FROM c', parameters: [{ value: 1 }] }, note);
    [5, null, {}, { query: 1 }, { query: 'q', parameters: 1 }].forEach(function (query) {
        try { collection.queryDocuments(link, query, note); } catch (e) { seen.push([e.number, e.message]); }
    });
}

// {"documents": [{"id": "1", "a": 1}]}
function () {
    var collection = getContext().getCollection();
    var link = collection.getSelfLink();
    var seen = [];
    function note(err, doc) {
        seen.push(err ? [err.number, err.body] : [doc.id, doc._etag]);
        getContext().getResponse().setBody(seen);
    }
    collection.upsertDocument(link, { id: '1', a: 2 }, note);
    collection.upsertDocument(link, { id: '2', a: 1 }, {}, note);
    collection.upsertDocument(link, { id: '1', a: 3 }, { etag: 'stale' }, note);
    collection.upsertDocument(link, { a: 4 }, note);
}

// {"documents": [{"id": "1"}, {"id": "2"}, {"id": "3"}]}
function () {
    var collection = getContext().getCollection();
    var seen = [];
    function note(err, options) {
        seen.push(err ? [err.number, err.body] : options);
        getContext().getResponse().setBody(seen);
    }
    var docs = collection.getAltLink() + '/docs/';
    collection.deleteDocument(docs + '1', note);
    collection.deleteDocument(docs + '1', {}, note);
    collection.deleteDocument(docs + '2', { etag: 'stale' }, note);
    collection.deleteDocument(docs + '3', { etag: '"3"' }, note);
}

// {"documents": [{"id": "1", "a": 1}]}
function () {
    var collection = getContext().getCollection();
    var seen = [];
    function note(err, doc) {
        seen.push(err ? [err.number, err.body] : [doc.id, doc.a, doc._etag]);
        getContext().getResponse().setBody(seen);
    }
    var link = collection.getAltLink() + '/docs/1';
    collection.readDocument(link, function (err, doc) {
        doc.a = 2;
        collection.replaceDocument(doc._self, doc, { etag: doc._etag }, note);
        collection.replaceDocument(doc._self, doc, { etag: doc._etag }, note);
        collection.replaceDocument(link, JSON.stringify(doc), note);
        collection.replaceDocument(collection.getAltLink() + '/docs/2', doc, note);
        collection.replaceDocument(link, doc, { indexAction: 'Include' }, note);
        try { collection.replaceDocument(link, doc, { indexAction: 'never' }, note); } catch (e) { note(e); }
        try { collection.replaceDocument(link, 7, note); } catch (e) { note(e); }
    });
}

// {"documents": [{"id": "1"}]}
function () {
    var collection = getContext().getCollection();
    var link = collection.getSelfLink();
    var seen = [];
    function note(err, doc, options) {
        seen.push(err ? [err.number, err.body] : [doc.id, doc._etag, options]);
        getContext().getResponse().setBody(seen);
    }
    var body = { a: 1 };
    collection.createDocument(link, { id: '2' }, note);
    collection.createDocument(link, body, {}, note);
    collection.createDocument(link, { id: null }, note);
    collection.createDocument(link, { id: '' }, note);
    collection.createDocument(link, '{"id":"text"}', note);
    collection.createDocument(link, '{"no":"id"}', note);
    collection.createDocument(link, { id: '3' }, { indexAction: 'exclude' }, note);
    collection.createDocument(link, { id: '1' }, note);
    collection.createDocument(link, { b: 1 }, { disableAutomaticIdGeneration: true }, note);
    collection.createDocument('dbs/d/colls/other', { id: '4' }, note);
    collection.createDocument(link, { id: 'x', half: '\ud83d', nan: NaN, u: undefined }, note);
    [null, 1, undefined, '{', '[]x'].forEach(function (body) {
        try { collection.createDocument(link, body, note); } catch (e) { seen.push([e.number, e.message]); }
    });
    seen.push(['untouched', body]);
}

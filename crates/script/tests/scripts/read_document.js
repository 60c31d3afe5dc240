// {"documents": [{"id": "1", "a": 2}]}
function () {
    var collection = getContext().getCollection();
    var seen = [];
    function note(what) {
        return function (err, doc, options) {
            seen.push([what, err && { number: err.number, body: err.body }, doc, options]);
            getContext().getResponse().setBody(seen);
        };
    }
    var link = collection.getAltLink() + '/docs/1';
    var accepted = [
        collection.readDocument(link, note('alt link')),
        collection.readDocument(collection.getSelfLink() + 'docs/rid1/', {}, note('self link')),
        collection.readDocument(link, { ifNoneMatch: '"1"' }, note('not modified')),
        collection.readDocument(link, { ifNoneMatch: '"0"' }, note('modified')),
        collection.readDocument(collection.getAltLink() + '/docs/2', note('missing')),
        collection.readDocument('dbs/d/colls/other/docs/1', note('outside')),
        collection.readDocument('dbs/d/colls/c', note('malformed')),
        collection.readDocument('/' + link + '/', null, note('slashes')),
    ];
    seen.push(accepted);
}

// {"documents": [{"id": "1"}, {"id": "2"}, {"id": "3"}]}
function () {
    var collection = getContext().getCollection();
    var pages = [];
    function read(continuation) {
        collection.readDocuments(collection.getSelfLink(), { pageSize: 2, continuation: continuation },
            function (err, docs, options) {
                if (err) throw err;
                pages.push([docs.map(function (d) { return d.id; }), options]);
                if (options.continuation) read(options.continuation);
                else getContext().getResponse().setBody(pages);
            });
    }
    read();
}

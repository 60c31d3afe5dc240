// {"documents": [{"id": "1", "a": 2}]}
async function () {
    function read(id) {
        return new Promise(function (resolve, reject) {
            __.readDocument(__.getAltLink() + '/docs/' + id, function (err, doc) {
                err ? reject(err) : resolve(doc);
            });
        });
    }
    var doc = await read('1');
    var missing = await read('2').catch(function (err) { return err.number; });
    __.response.setBody([doc.a, missing]);
}

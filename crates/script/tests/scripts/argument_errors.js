function () {
    var collection = getContext().getCollection();
    var link = collection.getSelfLink();
    var attempts = {
        few0: function () { collection.readDocument(); },
        few1: function () { collection.createDocument(link); },
        few2: function () { collection.queryDocuments(link); },
        few3: function () { collection.replaceDocument(link); },
        few4: function () { collection.deleteDocument(); },
        few5: function () { collection.readDocuments(); },
        few6: function () { collection.upsertDocument(); },
        options: function () { collection.readDocument(link, 'options', function () {}); },
        callback: function () { collection.readDocument(link, {}, 'callback'); },
        link: function () { collection.readDocument({}); },
        pageSize: function () { collection.readDocuments(link, { pageSize: 'many' }); },
        continuation: function () { collection.readDocuments(link, { continuation: 5 }); },
        etag: function () { collection.deleteDocument(link, { etag: 5 }); },
    };
    var seen = {};
    Object.keys(attempts).forEach(function (name) {
        try { attempts[name](); seen[name] = 'no error'; } catch (e) { seen[name] = [e.number, e.message]; }
    });
    getContext().getResponse().setBody(seen);
}

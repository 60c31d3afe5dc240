// {"kind": "post", "operation": "Upsert", "body": {"id": "2"}, "response": {"id": "2", "_etag": "e"}, "documents": [{"id": "meta", "count": 1}]}
function () {
    var response = getContext().getResponse();
    var collection = getContext().getCollection();
    var created = response.getBody();
    collection.readDocument(collection.getAltLink() + '/docs/meta', function (err, meta) {
        if (err) throw err;
        meta.count += 1;
        meta.last = created.id;
        collection.replaceDocument(meta._self, meta, function (err) {
            if (err) throw err;
            created.quota = [response.getMaxResourceQuota(), response.getResourceQuotaCurrentUsage()];
            created.request = [getContext().getRequest().getBody(), getContext().getRequest().getOperationType()];
            try { getContext().getRequest().setValue('Body', {}); } catch (e) { created.error = [e.number, e.message]; }
            response.setBody(created);
        });
    });
}

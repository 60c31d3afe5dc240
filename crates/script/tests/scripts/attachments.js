function () {
    var collection = getContext().getCollection();
    var seen = ['readAttachment', 'readAttachments', 'queryAttachments', 'createAttachment',
        'upsertAttachment', 'replaceAttachment', 'deleteAttachment'].map(function (name) {
        try { collection[name]('link'); } catch (e) { return [e.number, e.message]; }
    });
    getContext().getResponse().setBody(seen);
}

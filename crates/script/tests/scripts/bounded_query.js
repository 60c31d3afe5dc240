// {"accepted": 2, "documents": [{"id": "1"}, {"id": "2"}, {"id": "3"}, {"id": "4"}]}
function () {
    var first = __.filter(function (d) { return d.id !== '1'; }, { pageSize: 2 }, function (err, docs, options) {
        var second = __.filter(function () { return true; }, function () { throw new Error('not queued'); });
        __.response.setBody([docs.map(function (d) { return d.id; }), options.continuation, second.isAccepted]);
    });
    if (!first.isAccepted) throw new Error('not accepted');
}

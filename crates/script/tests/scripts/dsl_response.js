// {"documents": [{"id": "1", "n": 3, "tags": ["a", "b"], "in": {"x": 1}}, {"id": "2", "n": 1, "tags": ["c"]}, {"id": "3", "n": 2, "s": true}]}
function () {
    var result = __.filter(function (d) { return d.n > 1; });
    if (!result.isAccepted) throw new Error('not accepted');
}

// {"accepted": 5}
function () {
    var count = 0;
    function next() {
        var accepted = __.createDocument(__.getSelfLink(), { id: String(count) }, function (err) {
            if (err) throw err;
            count++;
            next();
        });
        if (!accepted) __.response.setBody(count);
    }
    next();
}

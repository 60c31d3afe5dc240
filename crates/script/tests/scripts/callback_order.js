// {"documents": [{"id": "1"}], "logging": true}
function () {
    var link = __.getAltLink() + '/docs/1';
    __.readDocument(link, function () {
        console.log('first ');
        __.readDocument(link, function () { console.log('third '); });
        Promise.resolve().then(function () { console.log('promise '); });
    });
    __.readDocument(link, function () { console.log('second '); });
    console.log('main ');
}

function () {
    var x = ;
}

(function () {
  'use strict';
  var folds = document.querySelectorAll('details.fold');

  /* Folds: all at once, before a fragment is shown, and on paper. */
  function each(list, act) { Array.prototype.forEach.call(list, act); }
  function button(text, act) {
    var b = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    b.addEventListener('click', act);
    return b;
  }
  function setAll(open) { each(folds, function (fold) { fold.open = open; }); }
  function reveal() {
    var at = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!at) return;
    for (var up = at; up; up = up.parentElement) if (up.tagName === 'DETAILS') up.open = true;
    at.scrollIntoView();
  }
  var tools = document.querySelector('.tools');
  if (tools) {
    tools.appendChild(button('Unfold all', function () { setAll(true); }));
    tools.appendChild(button('Fold all', function () { setAll(false); }));
    tools.hidden = false;
  }
  window.addEventListener('hashchange', reveal);
  reveal();
  var closed = [];
  window.addEventListener('beforeprint', function () {
    closed = Array.prototype.filter.call(folds, function (fold) { return !fold.open; });
    setAll(true);
  });
  window.addEventListener('afterprint', function () {
    each(closed, function (fold) { fold.open = false; });
  });

  /* Filters: words that a row has, and the values of the first column. */
  function filter(table) {
    var box = table.parentElement.querySelector('.filter'), rows = table.tBodies[0].rows;
    var input = document.createElement('input'), shown = document.createElement('span');
    if (rows.length < 6) return;
    var texts = [], kinds = [], off = {}, timer = 0;
    function apply() {
      var words = input.value.toLowerCase().split(/\s+/), n = 0;
      for (var i = 0; i < rows.length; i++) {
        var fits = !off['$' + rows[i].cells[0].textContent] &&
          words.every(function (word) { return texts[i].indexOf(word) >= 0; });
        rows[i].hidden = !fits;
        n += fits;
      }
      shown.textContent = n + ' of ' + rows.length + ' shown';
    }
    for (var i = 0; i < rows.length; i++) {
      texts.push(rows[i].textContent.toLowerCase());
      var kind = rows[i].cells[0].textContent;
      if (kinds.indexOf(kind) < 0 && kinds.length < 9) kinds.push(kind);
    }
    input.type = 'search';
    input.placeholder = 'Filter';
    input.setAttribute('aria-label', 'Filter ' + table.getAttribute('aria-label'));
    input.addEventListener('input', function () {
      clearTimeout(timer);
      timer = setTimeout(apply, rows.length > 1000 ? 150 : 0);
    });
    shown.className = 'shown';
    shown.setAttribute('role', 'status');
    box.appendChild(input);
    if (table.classList.contains('kinds') && kinds.length > 1) each(kinds, function (kind) {
      var b = button(kind, function () {
        off['$' + kind] = !off['$' + kind];
        b.setAttribute('aria-pressed', String(!off['$' + kind]));
        apply();
      });
      b.setAttribute('aria-pressed', 'true');
      box.appendChild(b);
    });
    box.appendChild(shown);
    box.hidden = false;
    apply();
  }
  each(document.querySelectorAll('table.rows'), filter);

  /* Only what can be scrolled takes the focus. */
  function regions() {
    each(document.querySelectorAll('.scroll, ol.line'), function (region) {
      if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
      else region.removeAttribute('tabindex');
    });
  }
  window.addEventListener('resize', regions);
  each(folds, function (fold) { fold.addEventListener('toggle', regions); });
  regions();
})();
